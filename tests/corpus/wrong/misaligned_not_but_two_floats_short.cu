#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __align__(16) float own[4 * BLOCK_SIZE - 2];
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i < n) *(float4*)(own + 4 * threadIdx.x) = make_float4(A[i], B[i], 0, 0);
    __syncthreads();
    if (i < n) C[i] = own[4 * threadIdx.x] + own[4 * threadIdx.x + 1];
}
