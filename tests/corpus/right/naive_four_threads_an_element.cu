//!tilelab block=(8,8,4) grid=(ceil(Width/8), ceil(Width/8))
__device__ void addCAS(float* a, float v) {
    int* p = (int*)a; int old = *p, seen;
    do { seen = old; old = atomicCAS(p, seen, __float_as_int(v + __int_as_float(seen))); } while (seen != old);
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int j = threadIdx.x + blockIdx.x * 8, i = threadIdx.y + blockIdx.y * 8, z = threadIdx.z;
    __shared__ float acc[8][8];
    if (z == 0) acc[threadIdx.y][threadIdx.x] = 0;
    __syncthreads();
    float s = 0;
    if (i < Width && j < Width) for (int k = z; k < Width; k += 4) s += M[i * Width + k] * N[k * Width + j];
    atomicAdd(&acc[threadIdx.y][threadIdx.x], s);
    __syncthreads();
    if (z == 0 && i < Width && j < Width) P[i * Width + j] = acc[threadIdx.y][threadIdx.x];
}
