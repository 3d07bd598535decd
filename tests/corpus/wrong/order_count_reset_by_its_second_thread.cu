__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int pairs[512];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 512) pairs[t] = 0;
    __syncthreads();
    atomicAdd(&pairs[t / 2], 1u);
    if (t % 2 == 1) pairs[t / 2] = 0;
    __syncthreads();
    if (i < n) C[i] = A[i] + B[i] + pairs[t / 2];
}
