//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__device__ volatile float half[2][128][128];
__device__ unsigned int drawn[8][8];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int mine;
    int col = threadIdx.x + blockIdx.x * 16, row = threadIdx.y + blockIdx.y * 16;
    float sum = 0;
    if (col < Width && row < Width) {
        for (int k = blockIdx.z; k < Width; k += 2) sum += M[row * Width + k] * N[k * Width + col];
        half[blockIdx.z][row][col] = sum;
    }
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) mine = atomicAdd(&drawn[blockIdx.y][blockIdx.x], 1);
    __syncthreads();
    if (mine % 2 == 1 && col < Width && row < Width)
        P[row * Width + col] = sum + half[1 - blockIdx.z][row][col];
}
