//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ double part[3][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width)
{
    __shared__ bool last;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
    bool in = c < Width && r < Width;
    double s = 0;
    if (in) for (int k = blockIdx.z; k < Width; k += 3) s += M[r * Width + k] * N[k * Width + c];
    __threadfence();
    if (in) part[blockIdx.z][r * Width + c] = s;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = atomicInc(&ticket[blockIdx.y * gridDim.x + blockIdx.x], 2) == 2;
    __syncthreads();
    if (last && in) {
        volatile double* p = &part[0][r * Width + c];
        P[r * Width + c] = p[0] + p[128 * 128] + p[2 * 128 * 128];
    }
}
