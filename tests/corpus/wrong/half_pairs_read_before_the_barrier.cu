#include <cuda_fp16.h>

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __half2 digits[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    digits[t] = __floats2half2_rn(i < n ? floorf(A[i] / 64) : 0, i < n ? A[i] - 64 * floorf(A[i] / 64) : 0);
    __syncthreads();
    int next = (t + 1) % blockDim.x, j = blockIdx.x * blockDim.x + next;
    if (j < n) atomicAdd(&digits[next], __floats2half2_rn(floorf(B[j] / 64), B[j] - 64 * floorf(B[j] / 64)));
    if (i < n) C[i] = 64 * __low2float(digits[t]) + __high2float(digits[t]);
}
