__device__ unsigned int cursor;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int slot = atomicInc(&cursor, gridDim.x * blockDim.x - 1);
    if (i < n && slot < n) C[slot] = A[i] + B[i];
}
