// reset of output in vector
// every block clears two elements of its neighbour as well (off-by-one halo reset)
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicExch(&C[i], 0.0f);
    if (threadIdx.x == blockDim.x - 1 && i + 1 < n) atomicExch(&C[i + 1], 0.0f);
    __syncthreads();
    if (i < n) { atomicAdd(&C[i], A[i]); atomicAdd(&C[i], B[i]); }
}
