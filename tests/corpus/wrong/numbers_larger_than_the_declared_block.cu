#define BLOCK_SIZE 128

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
}
