//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__device__ int sem[16384];
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16;
    bool in = c < Width && r < Width;
    int* lock = &sem[blockIdx.y * gridDim.x + blockIdx.x];
    float s = 0;
    if (in) for (int k = blockIdx.z; k < Width; k += 2) s += M[r * Width + k] * N[k * Width + c];
    if (threadIdx.x == 0 && threadIdx.y == 0)
        while (atomicAdd(lock, 0) != blockIdx.z) { }
    __syncthreads();
    volatile float* out = P;
    if (in) out[r * Width + c] = blockIdx.z ? out[r * Width + c] + s : s;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicExch(lock, blockIdx.z == 1 ? 0 : 1);
}
