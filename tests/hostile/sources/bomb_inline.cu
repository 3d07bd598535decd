__device__ __forceinline__ float f0(float x) { return sinf(x) * cosf(x); }
__device__ __forceinline__ float f1(float x) { return f0(x) + f0(x + 1) + f0(x * 2); }
__device__ __forceinline__ float f2(float x) { return f1(x) + f1(x + 1) + f1(x * 2); }
__device__ __forceinline__ float f3(float x) { return f2(x) + f2(x + 1) + f2(x * 2); }
__device__ __forceinline__ float f4(float x) { return f3(x) + f3(x + 1) + f3(x * 2); }
__device__ __forceinline__ float f5(float x) { return f4(x) + f4(x + 1) + f4(x * 2); }
__device__ __forceinline__ float f6(float x) { return f5(x) + f5(x + 1) + f5(x * 2); }
__device__ __forceinline__ float f7(float x) { return f6(x) + f6(x + 1) + f6(x * 2); }
__device__ __forceinline__ float f8(float x) { return f7(x) + f7(x + 1) + f7(x * 2); }
__device__ __forceinline__ float f9(float x) { return f8(x) + f8(x + 1) + f8(x * 2); }
__device__ __forceinline__ float f10(float x) { return f9(x) + f9(x + 1) + f9(x * 2); }
__device__ __forceinline__ float f11(float x) { return f10(x) + f10(x + 1) + f10(x * 2); }
__device__ __forceinline__ float f12(float x) { return f11(x) + f11(x + 1) + f11(x * 2); }
__device__ __forceinline__ float f13(float x) { return f12(x) + f12(x + 1) + f12(x * 2); }
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = f13(M[0]); }
