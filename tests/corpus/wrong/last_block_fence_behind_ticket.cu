//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 4)
__device__ float part[4][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int order;
    int j = threadIdx.x + blockIdx.x * 16, i = threadIdx.y + blockIdx.y * 16;
    bool in = i < Width && j < Width;
    float s = 0;
    for (int k = blockIdx.z; in && k < Width; k += 4) s += M[i * Width + k] * N[k * Width + j];
    if (in) part[blockIdx.z][i * Width + j] = s;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) order = atomicInc(&ticket[blockIdx.y * 8 + blockIdx.x], 3);
    __threadfence();
    __syncthreads();
    if (order == 3 && in) {
        float all = 0;
        for (int z = 0; z < 4; ++z) all += part[z][i * Width + j];
        P[i * Width + j] = all;
    }
}
