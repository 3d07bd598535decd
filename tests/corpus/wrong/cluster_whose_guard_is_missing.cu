//!tilelab grid=(2*ceil(n/(2*BLOCK_SIZE)))
__global__ void __cluster_dims__(2, 1, 1) vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    C[i] = A[i] + B[i];
}
