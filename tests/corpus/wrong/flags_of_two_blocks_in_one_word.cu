__device__ unsigned int done[16];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.y * gridDim.x + blockIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        unsigned int seen = done[b / 4];
        ((unsigned char*)done)[b] = (seen != 0) + 1;
    }
}
