//!tilelab block=(64,1) grid=(1,Width)
__device__ float sumOf[2048];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    for (int col = 0; col < Width; ++col) {
        float part = 0;
        for (int k = threadIdx.x; k < Width; k += 64) part += M[blockIdx.y * Width + k] * N[k * Width + col];
        atomicAdd(&sumOf[blockIdx.y], part);
        __syncthreads();
        if (threadIdx.x == 7) P[blockIdx.y * Width + col] = sumOf[blockIdx.y];
        if (threadIdx.x == 7) sumOf[blockIdx.y] = 0;
        __syncthreads();
    }
}
