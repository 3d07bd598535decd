//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ float part[3][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    __shared__ bool last;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
    int t = threadIdx.y * 16 + threadIdx.x;
    bool in = c < Width && r < Width;
    float s = 0;
    if (in) for (int k = blockIdx.z; k < Width; k += 3) s += M[r * Width + k] * N[k * Width + c];
    if (in) part[blockIdx.z][r * Width + c] = s;
    if (t == 0) __threadfence();
    __syncthreads();
    if (t == 0) last = atomicInc(&ticket[blockIdx.y * gridDim.x + blockIdx.x], 2) == 2;
    __syncthreads();
    if (last && in) {
        volatile float (*p)[128 * 128] = part;
        float total = 0;
        for (int z = 0; z < 3; ++z) total += p[z][r * Width + c];
        P[r * Width + c] = total;
    }
}
