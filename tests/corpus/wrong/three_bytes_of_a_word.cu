__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int signs[256];
    int t = threadIdx.y * 16 + threadIdx.x, col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    unsigned char* mine = (unsigned char*)&signs[t];
    for (int b = 0; b < 3; ++b) mine[b] = row * Width + b < Width * Width && M[row * Width + b] < 0;
    __syncthreads();
    unsigned int all = signs[t];
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) {
        float m = k < 4 ? copysignf(M[row * Width + k], all >> 8 * k & 1 ? -1.0f : 1.0f) : M[row * Width + k];
        sum += m * N[k * Width + col];
    }
    P[row * Width + col] = sum;
}
