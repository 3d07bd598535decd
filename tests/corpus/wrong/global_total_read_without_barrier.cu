//!tilelab block=(65,1) grid=(Width,Width)
__device__ float total[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* mine = &total[blockIdx.y * Width + blockIdx.x];
    if (threadIdx.x == 64) *mine = 0.0f;
    __syncthreads();
    if (threadIdx.x < 64) {
        float part = 0;
        for (int k = threadIdx.x; k < Width; k += 64) part += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
        atomicAdd(mine, part);
    } else {
        P[blockIdx.y * Width + blockIdx.x] = *mine;
    }
}
