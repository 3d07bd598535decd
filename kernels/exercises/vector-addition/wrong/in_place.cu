__global__ void vectorAdd(float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        A[i] += B[i];
        C[i] = A[i];
    }
}
