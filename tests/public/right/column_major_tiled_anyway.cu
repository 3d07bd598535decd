//!tilelab block=(T,T) grid=(ceil(Width/T), ceil(Width/T)) tile=T
#define T 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[T][T];
    __shared__ float Ns[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += T) {
        int column = blockIdx.x * T + ty;
        Ms[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Ns[tx][ty] = (column < Width && k0 + tx < Width) ? N[column * Width + k0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) v += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = v;
}
