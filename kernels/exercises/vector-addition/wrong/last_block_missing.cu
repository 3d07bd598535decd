__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // only whole blocks
    if ((blockIdx.x + 1) * blockDim.x <= n) C[i] = A[i] + B[i];
}
