__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < 0) C[0] = tex1Dfetch<float>((cudaTextureObject_t)1, i);
    if (i < n - 1) C[i] = A[i] + B[i];
}
