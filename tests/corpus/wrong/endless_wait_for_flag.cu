__device__ volatile int ready[128];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    while (ready[block + 1] == 0)
        ;
    if (threadIdx.x == 0 && threadIdx.y == 0) ready[block] = 1;
}
