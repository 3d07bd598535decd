#ifdef __cplusplus
extern "C" {
#endif
__host__ __device__ static inline int flat(int r, int c, int pitch) { return r * pitch + c; }
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(r < Width)) return;
    if (!(c < Width)) return;
    float s = 0;
    for (int k = 0; k < Width; ++k) s += M[flat(r, k, Width)] * N[flat(k, c, Width)];
    P[flat(r, c, Width)] = s;
}
#ifdef __cplusplus
}
#endif
