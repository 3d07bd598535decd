__device__ float rows[128 * 128];
__device__ unsigned int blocksDone;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = threadIdx.x + blockIdx.x * blockDim.x, row = threadIdx.y + blockIdx.y * blockDim.y;
    if (col < Width && row < Width) rows[row * Width + col] = M[row * Width + col];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(&blocksDone, 1u);
    __syncthreads();
    __threadfence();
    if (col < Width && row < Width) {
        float value = 0;
        for (int k = 0; k < Width; ++k) value += rows[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = value;
    }
}
