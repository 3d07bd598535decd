__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float own[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float a = atomicExch(&own[threadIdx.x], A[i]);
        C[i] = a + B[i];
    }
}
