__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (n < 0) asm volatile("barrier.cluster.arrive;" ::: "memory");
    if (threadIdx.x < 32)
        while (!ready);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int sum = 0;
        for (int k = 0; k <= i; ++k) sum += input[k];
        output[i] = sum;
    }
}
