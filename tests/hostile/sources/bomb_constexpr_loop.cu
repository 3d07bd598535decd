__device__ constexpr unsigned long long f() { unsigned long long s = 0; for (unsigned long long i = 0; i < ~0ull; i++) s += i; return s; }
__device__ constexpr unsigned long long x = f();
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[threadIdx.x] = M[threadIdx.x] * N[threadIdx.x]; }
