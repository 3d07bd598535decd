//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 4)
__device__ float part[4][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int drawn;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16, b = blockIdx.y * 8 + blockIdx.x;
    bool in = c < Width && r < Width, leader = threadIdx.x == 0 && threadIdx.y == 0;
    float s = 0;
    for (int k = blockIdx.z; in && k < Width; k += 4) s += M[r * Width + k] * N[k * Width + c];
    if (in) part[blockIdx.z][r * Width + c] = s;
    __threadfence();
    __syncthreads();
    if (leader) drawn = atomicAdd(&ticket[b], 1);
    __syncthreads();
    if (drawn != 3) return;
    __threadfence();
    float t = 0;
    for (int z = 0; in && z < 4; ++z) t += part[z][r * Width + c];
    if (in) P[r * Width + c] = t;
    if (leader) ticket[b] = 0;
}
