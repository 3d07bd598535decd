__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    const float* m = M + row * Width;
    float sum = 0;
    int whole = Width & ~3;
    for (int k = 0; k < whole; k += 4)
        for (int j = 0; j < 4; ++j) sum += m[k + j] * N[(k + j) * Width + col];
    switch (Width - whole) {
    case 3: sum += m[whole + 2] * N[(whole + 2) * Width + col]; // fall through
    case 2: sum += m[whole + 1] * N[(whole + 1) * Width + col]; // fall through
    case 1: sum += m[whole] * N[whole * Width + col];
    }
    P[row * Width + col] = sum;
}
