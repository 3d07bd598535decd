//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 3)
__device__ float part[3][128 * 128];
__device__ unsigned int ticket[64];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
    bool in = c < Width && r < Width;
    float s = 0;
    if (in) {
        for (int k = blockIdx.z; k < Width; k += gridDim.z) s += M[r * Width + k] * N[k * Width + c];
        part[blockIdx.z][r * Width + c] = s;
    }
    __threadfence();
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = atomicInc(&ticket[blockIdx.y * gridDim.x + blockIdx.x], gridDim.z - 1) == gridDim.z - 1;
    __syncthreads();
    if (last && in) {
        volatile float (*p)[128 * 128] = part;
        float t = 0;
        for (int z = 0; z < gridDim.z; ++z) t += p[z][r * Width + c];
        P[r * Width + c] = t;
    }
}
