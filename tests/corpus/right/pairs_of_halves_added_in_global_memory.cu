#include <cuda_fp16.h>

__device__ __half2 digits[16384];

// value is 64 * digit + rest
__device__ __half2 split(float value) {
    float digit = floorf(value / 64);
    return __floats2half2_rn(digit, value - 64 * digit);
}

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i >= 16384) {
        C[i] = A[i] + B[i];
        return;
    }
    digits[i] = split(A[i]);
    atomicAdd(&digits[i], split(B[i]));
    C[i] = 64 * __low2float(digits[i]) + __high2float(digits[i]);
}
