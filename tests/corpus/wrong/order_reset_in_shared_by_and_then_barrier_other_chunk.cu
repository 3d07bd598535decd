// reset in shared by and then barrier other chunk
// "first block initialises": every block's thread 0 sets the flag word, then all count atomically; last one by count finishes
__device__ unsigned arrived;
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) atomicExch(&arrived, 0u);
    if (i < n) atomicExch(&C[i], A[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) { __threadfence(); for (int k = threadIdx.x; k < n; k += blockDim.x) atomicAdd(&C[k], B[k]); }
}
