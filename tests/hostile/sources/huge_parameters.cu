struct Big { float v[1 << 20]; };
__device__ float get(Big b) { return b.v[3]; }
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { Big b; b.v[3] = 1; P[0] = get(b); }
