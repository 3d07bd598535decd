__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int head, next[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) head = -1;
    __syncthreads();
    next[threadIdx.x] = atomicExch(&head, (int)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int at = head; at >= 0; at = next[at]) {
            int k = blockIdx.x * blockDim.x + at;
            if (k < n) C[k] = A[k] + B[k];
        }
}
