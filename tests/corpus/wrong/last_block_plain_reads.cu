//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/8), 2)
__device__ float2 parts[128 * 128];
__device__ unsigned int tickets[16][4];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int drawn;
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    bool in = x < Width && y < Width;
    float* mine = (float*)&parts[y * 128 + x] + blockIdx.z;
    float s = 0;
    for (int k = blockIdx.z; in && k < Width; k += 2) s += M[y * Width + k] * N[k * Width + x];
    if (in) *mine = s;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) drawn = atomicInc(&tickets[blockIdx.y][blockIdx.x], 1);
    __syncthreads();
    if (drawn == 1 && in) {
        float2 both = parts[y * 128 + x];
        P[y * Width + x] = both.x + both.y;
    }
}
