//!tilelab block=(64,1) grid=(1,Width)
__device__ int nextColumn[128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y;
    if (threadIdx.x == 0) nextColumn[row] = 0;
    __syncthreads();
    for (int col = atomicAdd_block(&nextColumn[row], 1); col < Width; col = atomicAdd_block(&nextColumn[row], 1)) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
