// lane swap cas
__device__ int owner[1 << 16];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // two neighbours of different blocks bid for the border element; the winner's formula differs
    int won = 1;
    if (threadIdx.x == 0 && i > 0) won = atomicCAS(&owner[blockIdx.x], 0, 1) == 0;
    if (i < n) C[i] = A[i] + B[i];
    if (threadIdx.x == blockDim.x - 1 && i + 1 < n) {
        if (atomicCAS(&owner[blockIdx.x + 1], 0, 1) == 0) { }
        else won = 2;
    }
    if (i < n && won == 0) atomicExch(&C[i], A[i] - B[i]);
}
