__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % blockDim.x) atomicExch_block(&C[i], A[i] + B[i]); else C[i] = A[i] + B[i];
        if (i > 0) if (i % blockDim.x > 1) atomicExch_block(&C[i - 1], A[i - 1] + B[i]);
    }
}
