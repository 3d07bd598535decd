// One thread adds everything, with the launch of the exercise and large blocks.

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 512
#endif

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    for (int i = 0; i < n; ++i)
        C[i] = A[i] + B[i];
}
