//!tilelab block=(32,8) grid=(1,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    for (int row = threadIdx.y; row < Width; row += 8)
        for (int col = threadIdx.x; col < Width; col += 32) {
            float v = 0;
            for (int k = 0; k < Width; ++k)
                v = fmaf(M[row * Width + k], N[k * Width + col], v);
            P[row * Width + col] = v;
        }
    __syncthreads();
    for (int i = threadIdx.y * 32 + threadIdx.x; i < Width * Width; i += 256)
        M[i] = 0.0f;
}
