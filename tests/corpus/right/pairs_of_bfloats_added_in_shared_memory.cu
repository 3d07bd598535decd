#include <cuda_bf16.h>

__device__ __nv_bfloat162 split(float value) {
    float digit = floorf(value / 64);
    return __floats2bfloat162_rn(digit, value - 64 * digit);
}

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ __nv_bfloat162 digits[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    digits[t] = __floats2bfloat162_rn(0, 0);
    __syncthreads();
    int next = (t + 1) % blockDim.x, j = blockIdx.x * blockDim.x + next;
    if (i < n) atomicAdd(&digits[t], split(A[i]));
    if (j < n) atomicAdd(&digits[next], split(B[j]));
    __syncthreads();
    if (i < n) C[i] = 64 * __low2float(digits[t]) + __high2float(digits[t]);
}
