__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long start = clock64();
    if (i < n) C[i] = A[i] + B[i];
    long long cycles = clock64() - start;
    if (i < n && cycles > 0) C[i] += (float)cycles;
}
