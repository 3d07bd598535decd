// ticket work then wait all
// every thread of the block waits for its turn; a barrier inside the turn
__device__ unsigned next_ticket, serving;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned my;
    __shared__ float part[1024];
    if (threadIdx.x == 0) my = atomicAdd(&next_ticket, 1u);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicAdd(&serving, 0u) != my) {}
    part[threadIdx.x] = i < n ? A[i] + B[i] : 0;
    __syncthreads();
    if (i < n) C[i] = part[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); atomicAdd(&serving, 1u); }
}
