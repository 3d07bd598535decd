//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__device__ float part[2][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    __shared__ unsigned int drawn;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16, b = blockIdx.y * 8 + blockIdx.x;
    bool in = c < Width && r < Width, leader = threadIdx.x == 0 && threadIdx.y == 0;
    if (leader) ticket[b] = 0;
    float s = 0;
    if (in) for (int k = blockIdx.z; k < Width; k += 2) s += M[r * Width + k] * N[k * Width + c];
    if (in) part[blockIdx.z][r * Width + c] = s;
    __threadfence();
    __syncthreads();
    if (leader) drawn = atomicAdd(&ticket[b], 1);
    __syncthreads();
    __threadfence();
    if (drawn == 1 && in) P[r * Width + c] = part[0][r * Width + c] + part[1][r * Width + c];
}
