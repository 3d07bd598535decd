//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ float part[3][128 * 128];
__device__ int ticket[64];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ int drawn;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
    bool in = c < Width && r < Width;
    float s = 0;
    for (int k = blockIdx.z; in && k < Width; k += 3) s += M[r * Width + k] * N[k * Width + c];
    if (in) part[blockIdx.z][r * Width + c] = s;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) drawn = atomicAdd_block(&ticket[blockIdx.y * 8 + blockIdx.x], 1);
    __syncthreads();
    __threadfence();
    if (drawn % 3 == 2 && in) {
        float t = 0;
        for (int z = 0; z < 3; ++z) t += part[z][r * Width + c];
        P[r * Width + c] = t;
    }
}
