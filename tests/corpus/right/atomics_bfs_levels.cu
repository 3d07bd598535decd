// bfs levels
// chain BFS: next[i]=i+1, frontier queue by atomicAdd; then a sum by one thread
__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ int q[2048], size, head;
    if (threadIdx.x == 0) { size = 0; head = 0; }
    __syncthreads();
    for (int base = 0; base < n; base += blockDim.x) {
        int i = base + threadIdx.x;
        if (i < n) { int s = atomicAdd(&size, 1); q[s % 2048] = i; }
        __syncthreads();
        int take = atomicAdd(&head, 1);
        __syncthreads();
        if (take < size) output[q[take % 2048]] = input[q[take % 2048]];
        __syncthreads();
        if (threadIdx.x == 0) head = min(head, size);
        __syncthreads();
    }
    if (threadIdx.x == 0) for (int i = 0, sum = 0; i < n; i++) output[i] = sum += output[i];
}
