//!tilelab block=(16,4,4) grid=(ceil(Width/16), ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float total[4][16];
    int col = blockIdx.x * 16 + threadIdx.x;
    int row = blockIdx.y * 4 + threadIdx.y;
    if (threadIdx.z == 0) total[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    if (row < Width && col < Width) {
        float part = 0.0f;
        for (int k = threadIdx.z; k < Width; k += 4)
            part += M[row * Width + k] * N[k * Width + col];
        atomicAdd(&total[threadIdx.y][threadIdx.x], part);
    }
    __syncthreads();
    if (threadIdx.z == 0 && row < Width && col < Width)
        P[row * Width + col] = total[threadIdx.y][threadIdx.x];
}
