//!tilelab block=(32,2) grid=(Width,Width)
__device__ float largest[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int t = threadIdx.y * 32 + threadIdx.x, at = blockIdx.y * Width + blockIdx.x;
    if (t == 0) P[at] = 0;
    __syncthreads();
    float part = 0;
    for (int k = t; k < Width; k += 64) part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    atomicAdd(&P[at], part);
    float now = P[at];
    __syncthreads();
    if (t == 0) largest[at] = fmaxf(now, 0.0f);
}
