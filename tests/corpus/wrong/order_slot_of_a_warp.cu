__device__ unsigned int cursor;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int warps = gridDim.x * blockDim.x / 32, first = 0;
    if (threadIdx.x % 32 == 0) first = atomicInc(&cursor, warps - 1);
    unsigned int slot = __shfl_sync(0xffffffff, first, 0) * 32 + threadIdx.x % 32;
    if (i < n && slot < n) C[slot] = A[i] + B[i];
}
