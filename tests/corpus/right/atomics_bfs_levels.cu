// bfs levels
// chain BFS: next[i]=i+1, frontier queue by atomicAdd; then a sum by one thread
__global__ void inclusiveScan(const int* input, int* output, int n) {
    __shared__ int q[2048], size, head;
    if (threadIdx.x == 0) { size = 0; head = 0; }
    __syncthreads();
    for (int base = 0; base < n; base += blockDim.x) {
        int i = base + threadIdx.x;
        if (i < n) { int s = atomicAdd(&size, 1); if (s < 2048) q[s] = i; }
        __syncthreads();
        int take = atomicAdd(&head, 1);
        __syncthreads();
        if (take < size) output[q[take]] = input[q[take]];
        __syncthreads();
        if (threadIdx.x == 0) head = min(head, size);
        __syncthreads();
    }
    if (threadIdx.x == 0) for (int i = 1; i < n; i++) output[i] += output[i - 1];
}
