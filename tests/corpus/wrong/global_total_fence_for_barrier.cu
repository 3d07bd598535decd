//!tilelab block=(64,1) grid=(Width,Width)
__device__ double total[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    double* mine = &total[blockIdx.y * Width + blockIdx.x];
    if (threadIdx.x == 0) *mine = 0.0;
    __syncthreads();
    double part = 0;
    for (int k = threadIdx.x; k < Width; k += 64) part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    atomicAdd(mine, part);
    __threadfence();
    double all = *mine;
    if (threadIdx.x == 5) P[blockIdx.y * Width + blockIdx.x] = (float)all;
}
