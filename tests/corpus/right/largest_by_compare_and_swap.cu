__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned int top;
    if (threadIdx.x == 0) top = 0;
    __syncthreads();
    unsigned int seen = atomicAdd(&top, 0u), was;
    while (seen < threadIdx.x && (was = atomicCAS(&top, seen, threadIdx.x)) != seen) seen = was;
    __syncthreads();
    int i = blockIdx.x * (top + 1) + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
}
