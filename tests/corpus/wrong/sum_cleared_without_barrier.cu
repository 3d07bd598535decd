//!tilelab block=(16,16) grid=(ceil(Width/16), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y;
    __shared__ float sum[16];
    if (threadIdx.y == 0) sum[threadIdx.x] = 0.f;
    float s = 0;
    if (c < Width)
        for (int k = threadIdx.y; k < Width; k += 16) s += M[r * Width + k] * N[k * Width + c];
    atomicAdd(&sum[threadIdx.x], s);
    __syncthreads();
    if (threadIdx.y == 0 && c < Width) P[r * Width + c] = sum[threadIdx.x];
}
